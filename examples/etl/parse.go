package main

import (
	"context"
	"errors"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
)

// parser makes functions of files.
type parser struct{ tree fs.FS }

// parsed has the functions of a file.
type parsed struct {
	file      int // its number
	functions []function
}

// file parses a file of the walk.
func (p parser) file(ctx context.Context, f file) (parsed, error) {
	functions, err := p.parse(ctx, f.path)
	return parsed{f.number, functions}, err
}

// parse returns the functions that a file declares. A file that does not parse has none: what the Go parser makes of it is a guess.
func (p parser) parse(_ context.Context, path string) ([]function, error) {
	info, err := fs.Stat(p.tree, path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // reading a pipe could wait for ever
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	src, err := fs.ReadFile(p.tree, path)
	if err != nil {
		return nil, err
	}
	positions := token.NewFileSet() // one per file: a shared one would be a lock for all parsers
	file, err := goparser.ParseFile(positions, path, src, goparser.ParseComments|goparser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []function
	for _, d := range file.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok {
			found = append(found, describe(positions, path, file.Name.Name, decl))
		}
	}
	return found, nil
}

// describe makes a record of a declaration.
func describe(positions *token.FileSet, path, pkg string, decl *ast.FuncDecl) function {
	// Without the adjustment by //line comments, which may send two declarations to one place.
	start, end := positions.PositionFor(decl.Pos(), false), positions.PositionFor(decl.End(), false)
	return function{
		pkg: pkg, file: path, line: start.Line, col: start.Column,
		name:       fullName(decl),
		lines:      end.Line - start.Line + 1,
		complexity: complexity(decl),
		exported:   decl.Name.IsExported(),
		documented: decl.Doc.Text() != "", // directives such as //go:noinline are no documentation
	}
}

// fullName is Name, T.Name or (*T).Name, without type parameters.
func fullName(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return decl.Name.Name
	}
	typ, pointer := receiver(decl.Recv.List[0].Type)
	if pointer {
		typ = "(*" + typ + ")"
	}
	return typ + "." + decl.Name.Name
}

// receiver returns the name of a receiver's type, and whether it is a pointer.
func receiver(e ast.Expr) (name string, pointer bool) {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e, pointer = t.X, true
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name, pointer
		default: // parses, but is no Go
			return "?", pointer
		}
	}
}

// complexity is McCabe's cyclomatic complexity: one more than there are decisions, those of nested function literals included.
func complexity(decl *ast.FuncDecl) int {
	n := 1
	ast.Inspect(decl, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
